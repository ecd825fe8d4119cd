package jsonanswer

import (
	"strconv"
	"strings"
	"testing"
)

const invoice = `{"type":"object","properties":{"id":{"type":"integer"},"customer":{"type":"string","minLength":1},` +
	`"lines":{"type":"array","items":{"type":"object","properties":{"sku":{"type":"string","pattern":"^[A-Z]{3}-[0-9]+$"},` +
	`"count":{"type":"integer","minimum":1},"price":{"type":"number"}},"required":["sku","count"],"additionalProperties":false}},` +
	`"state":{"enum":["open","paid"]}},"required":["id","lines"]}`

// invoiceAnswer is an answer with n lines.
func invoiceAnswer(n int) string {
	var lines []string
	for i := range n {
		lines = append(lines, `{"sku":"ABC-`+strconv.Itoa(i)+`","count":2,"price":1.10}`)
	}
	return "Here it is:\n\n```json\n" + `{"id":9007199254740993,"customer":"x","state":"paid","lines":[` +
		strings.Join(lines, ",\n") + "]}\n```\n"
}

func BenchmarkRead(b *testing.B) {
	s := mustCompile(b, invoice)
	for _, n := range []int{1, 100, 10_000} {
		text := invoiceAnswer(n)
		b.Run(strconv.Itoa(n)+" lines", func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Read(text, s); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkReadHostile reads 10 MiB of what begins a value or a fence.
func BenchmarkReadHostile(b *testing.B) {
	s := mustCompile(b, invoice)
	for _, unit := range []string{"{", "[", "`", "```\n", `{"a":`, `["`, `[1 `, `{}`, "{\"a\":1 b\n"} {
		text := strings.Repeat(unit, 10<<20/len(unit))
		b.Run(strconv.Quote(unit), func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				if _, err := Read(text, s); err == nil {
					b.Fatal("no error")
				}
			}
		})
	}
}

func BenchmarkValidate(b *testing.B) {
	s := mustCompile(b, invoice)
	valid := []byte(`{"id":1,"lines":[{"sku":"ABC-1","count":2,"price":1.10}],"state":"paid"}`)
	invalid := []byte(`{"id":"1","lines":[{"sku":"abc","count":0,"x":1}],"state":"lost"}`)
	b.Run("valid", func(b *testing.B) {
		for b.Loop() {
			if err := s.Validate(valid); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("invalid", func(b *testing.B) {
		for b.Loop() {
			if err := s.Validate(invalid); err == nil {
				b.Fatal("no error")
			}
		}
	})
}

func BenchmarkCompile(b *testing.B) {
	b.Run("known", func(b *testing.B) {
		for b.Loop() {
			mustCompile(b, invoice)
		}
	})
	b.Run("new", func(b *testing.B) {
		for b.Loop() {
			if _, err := compile([]byte(invoice), nil); err != nil {
				b.Fatal(err)
			}
		}
	})
}
