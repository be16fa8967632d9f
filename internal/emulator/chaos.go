package emulator

import (
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"time"

	"cloud.google.com/go/spanner/apiv1/spannerpb"
	"google.golang.org/grpc/codes"
)

// SetChaos replaces all faults by random ones: each call of the Spanner
// service has one with probability rate, from 0 to 1. They are faults that
// clients of the service have to live with: all but a few milliseconds of
// delay are worth a retry. Administration is left alone.
//
// The n-th call of a method has the same fault whenever the seed is the same.
func (f *Faults) SetChaos(rate float64, seed uint64) {
	streams := chaosMethods()
	f.SetFunc(func(method string, call int) *Fault {
		stream, known := streams[method]
		h := fnv.New64a()
		h.Write([]byte(method))
		r := rand.New(rand.NewPCG(seed, h.Sum64()+uint64(call)))
		if !known || r.Float64() >= rate {
			return nil
		}
		kinds := unaryChaos
		switch {
		case stream:
			kinds = streamChaos
		case method == "Commit":
			kinds = commitChaos
		}
		return kinds[r.IntN(len(kinds))](r)
	})
}

// chaosMethods are the methods of the Spanner service; true for streams.
func chaosMethods() map[string]bool {
	out := make(map[string]bool)
	for _, m := range spannerpb.Spanner_ServiceDesc.Methods {
		out[m.MethodName] = false
	}
	for _, s := range spannerpb.Spanner_ServiceDesc.Streams {
		out[s.StreamName] = true
	}
	return out
}

// The faults that SetChaos chooses from, for unary calls, Commit and streams.
var (
	unaryChaos = []func(*rand.Rand) *Fault{
		func(*rand.Rand) *Fault { return &Fault{Code: codes.Unavailable, Message: chaosMessage} },
		func(*rand.Rand) *Fault {
			return &Fault{Code: codes.Unavailable, Message: chaosMessage, AfterWork: true}
		},
		func(r *rand.Rand) *Fault { return &Fault{Stall: upTo(r, 200*time.Millisecond)} },
		func(r *rand.Rand) *Fault {
			return &Fault{Code: codes.ResourceExhausted, Message: chaosMessage, RetryDelay: new(upTo(r, 50*time.Millisecond))}
		},
		func(*rand.Rand) *Fault { return &Fault{CloseConnection: true} },
	}
	commitChaos = append(slices.Clone(unaryChaos), func(r *rand.Rand) *Fault {
		return &Fault{Code: codes.Aborted, Message: chaosMessage, RetryDelay: new(upTo(r, 20*time.Millisecond))}
	})
	streamChaos = append(slices.Clone(unaryChaos),
		func(r *rand.Rand) *Fault {
			return &Fault{Code: codes.Unavailable, Message: chaosMessage, AfterMessages: 1 + r.IntN(5)}
		},
		func(r *rand.Rand) *Fault {
			return &Fault{Code: codes.Internal, Message: "stream terminated by RST_STREAM: " + chaosMessage, AfterMessages: r.IntN(5)}
		},
		func(r *rand.Rand) *Fault { return &Fault{CloseConnection: true, AfterMessages: 1 + r.IntN(5)} },
		func(r *rand.Rand) *Fault { return &Fault{MessageDelay: upTo(r, 20*time.Millisecond)} },
	)
)

const chaosMessage = "a fault made up by --chaos"

func upTo(r *rand.Rand, d time.Duration) time.Duration { return 1 + time.Duration(r.Int64N(int64(d))) }
