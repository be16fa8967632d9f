package cdc

import (
	"fmt"
	"io"
	"strconv"
	"sync"
)

// Graph collects which partitions there have been and which they came from. It
// may be read while a tail runs.
type Graph struct {
	mu    sync.Mutex
	nodes []graphNode
	index map[string]int
}

type graphNode struct {
	token   string
	start   Timestamp
	end     Timestamp // zero: not finished
	parents []string
}

// maxGraphNodes bounds a Graph: what is more, a picture does not show.
const maxGraphNodes = 100_000

func (g *Graph) note(token string, step *Advance) {
	if g == nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.index == nil {
		g.index = map[string]int{}
	}
	for _, c := range step.Children {
		i, known := g.index[c.Token]
		switch {
		case known:
			g.nodes[i].parents = union(g.nodes[i].parents, c.Parents)
		case len(g.nodes) < maxGraphNodes:
			g.index[c.Token] = len(g.nodes)
			g.nodes = append(g.nodes, graphNode{token: c.Token, start: c.Start, parents: c.Parents})
		}
	}
	if i, known := g.index[token]; known && step.Outcome == Ended {
		g.nodes[i].end = step.Position
	}
}

// restore notes the partitions of an earlier run.
func (g *Graph) restore(partitions []Partition) {
	for _, p := range partitions {
		if p.Token != RootToken {
			g.note(RootToken, &Advance{Children: []Child{{Token: p.Token, Parents: p.Parents, Start: p.Start}}})
		}
	}
}

// WriteDOT writes the graph in Graphviz's language: a box for each partition
// with its times, dashed while it is not finished, and an arrow to each child.
func (g *Graph) WriteDOT(w io.Writer) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	text := []byte("digraph partitions {\n  rankdir=LR;\n  node [shape=box, fontname=monospace];\n")
	for i, n := range g.nodes {
		end, style := "", ", style=dashed"
		if n.end != 0 {
			end, style = n.end.String(), ""
		}
		label := strconv.Quote(fmt.Sprintf("%s\n%v\n%s", short(n.token), n.start, end))
		text = fmt.Appendf(text, "  p%d [label=%s, tooltip=%s%s];\n", i, label, strconv.Quote(n.token), style)
	}
	for i, n := range g.nodes {
		for _, parent := range n.parents {
			if from, known := g.index[parent]; known {
				text = fmt.Appendf(text, "  p%d -> p%d;\n", from, i)
			}
		}
	}
	_, err := w.Write(append(text, "}\n"...))
	return err
}
