//go:build ignore

// This program writes the demo's data files: go run generate.go, in this
// folder. The same files come out each time.
package main

import (
	"encoding/base64"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"log"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"time"
)

const (
	customers = 3000
	products  = 800
)

var (
	given = []string{"Ada", "Jürgen", "Zoë", "Kenji", "Amélie", "Noor", "Søren", "María", "Ivan", "Chiara", "李娜", "Tomás", "Aisha", "Olga", "Ben", "Priya"}
	last  = []string{"Okafor", "Müller", "O'Brien", "García", "Nguyễn", "Smith", "Kowalski", "Rossi", "Haddad", "Tanaka", "Andersen", "Silva", "王", "Dubois", "Lindqvist", "Patel"}
	lands = []string{"DE", "FR", "US", "JP", "BR", "IN", "NO", "IT", "PL", "VN", "GB", "ES"}
	tags  = []string{"vip", "wholesale", "new", "gift card", "returns often"}
	kinds = map[string][]string{
		"kitchen": {"Kettle", "Pan", "Knife", "Grater", "Teapot"},
		"garden":  {"Rake", "Hose", "Trowel", "Lantern"},
		"office":  {"Lamp", "Notebook", "Chair", "Stapler"},
		"outdoor": {"Tent", "Stove", "Backpack", "Headlamp"},
	}
	states = []string{"delivered", "delivered", "delivered", "delivered", "shipped", "placed", "cancelled", "returned"}
	notes  = []string{"", "", "", "", "leave at the door", "gift, please no invoice inside", "call before delivery: bell is broken", "2nd floor,\nleft side", `write "Happy birthday" on the card`}
)

func pick[T any](r *rand.Rand, from []T) T { return from[r.IntN(len(from))] }

func main() {
	log.SetFlags(0)
	r := rand.New(rand.NewPCG(2026, 11))
	skus := writeProducts(r)
	writeCustomers(r)
	writeOrders(r, skus)
}

func create(name string) *os.File {
	f, err := os.Create(name)
	if err != nil {
		log.Fatal(err)
	}
	return f
}

func writeCSV(name string, header []string, rows func(add func(...string))) {
	f := create(name)
	w := csv.NewWriter(f)
	w.Write(header)
	rows(func(fields ...string) { w.Write(fields) })
	w.Flush()
	if err := w.Error(); err != nil {
		log.Fatal(err)
	}
	f.Close()
}

func writeProducts(r *rand.Rand) (skus []string) {
	categories := []string{"kitchen", "garden", "office", "outdoor"}
	writeCSV("Products.csv", []string{"Sku", "Name", "Category", "Price", "WeightKg", "InStock", "Thumbnail"}, func(add func(...string)) {
		for i := range products {
			category := pick(r, categories)
			sku := fmt.Sprintf("%s-%05d", strings.ToUpper(category[:3]), i*37%100000)
			skus = append(skus, sku)
			thumbnail := make([]byte, 12)
			for j := range thumbnail {
				thumbnail[j] = byte(r.IntN(256))
			}
			add(sku, fmt.Sprintf("%s no. %d", pick(r, kinds[category]), 1+r.IntN(90)), category,
				fmt.Sprintf("%d.%02d", 1+r.IntN(400), r.IntN(100)), strconv.FormatFloat(float64(1+r.IntN(400))/16, 'f', -1, 32),
				strconv.Itoa(r.IntN(500)), base64.StdEncoding.EncodeToString(thumbnail))
		}
	})
	return skus
}

func writeCustomers(r *rand.Rand) {
	f := create("Customers.ndjson")
	defer f.Close()
	w := json.NewEncoder(f)
	w.SetEscapeHTML(false)
	for i := range customers {
		c := struct {
			CustomerId int
			Name       string
			Email      *string
			Country    string
			Since      string
			Newsletter bool
			Tags       []string
		}{CustomerId: 1000 + i*3, Name: pick(r, given) + " " + pick(r, last), Country: pick(r, lands), Newsletter: r.IntN(3) > 0}
		c.Since = time.Date(2019, 1, 1+r.IntN(2500), 0, 0, 0, 0, time.UTC).Format(time.DateOnly)
		if r.IntN(12) > 0 {
			mail := fmt.Sprintf("customer%d@example.com", c.CustomerId)
			c.Email = &mail
		}
		switch r.IntN(4) {
		case 0:
			c.Tags = []string{pick(r, tags)}
		case 1:
			c.Tags = []string{}
		}
		if err := w.Encode(c); err != nil {
			log.Fatal(err)
		}
	}
}

func writeOrders(r *rand.Rand, skus []string) {
	header := []string{"CustomerId", "OrderId", "PlacedAt", "Status", "Total", "Discount", "Lines", "Note"}
	writeCSV("Orders.csv", header, func(add func(...string)) {
		for i := range customers {
			for range r.IntN(14) {
				var lines []string
				cents := 0
				for range 1 + r.IntN(2) {
					price, quantity := 100+r.IntN(20000), 1+r.IntN(4)
					cents += price * quantity
					lines = append(lines, fmt.Sprintf(`{"quantity":%d,"sku":%q}`, quantity, pick(r, skus)))
				}
				discount := ""
				if r.IntN(5) == 0 {
					discount = pick(r, []string{"0.05", "0.1", "0.25"})
				}
				placed := time.Date(2025, 1, 1, 0, 0, r.IntN(60_000_000), r.IntN(1_000_000)*1000, time.UTC)
				add(strconv.Itoa(1000+i*3), orderID(r), placed.Format(time.RFC3339Nano), pick(r, states),
					fmt.Sprintf("%d.%02d", cents/100, cents%100), discount, "["+strings.Join(lines, ",")+"]", pick(r, notes))
			}
		}
	})
}

func orderID(r *rand.Rand) string {
	a, b := r.Uint64(), r.Uint64()
	return fmt.Sprintf("%08x-%04x-4%03x-%04x-%012x", a>>32, a>>16&0xffff, a&0xfff, b>>48&0x3fff|0x8000, b&0xffffffffffff)
}
