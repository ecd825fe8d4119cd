package jsonanswer

// The work of checking an answer is bounded by a budget in proportion to its
// size: a schema of a few lines can make a small answer exponentially
// expensive, by trying alternatives that each hold the same alternatives.
// A unit takes less than a microsecond.
const (
	budgetBase    = 1_000_000
	budgetPerByte = 4
)

// budget is the work that is left. It is used by one goroutine at a time.
type budget struct{ left int }

// exhausted is thrown by spend and caught where checking began, since the
// library that checks cannot be stopped.
type exhausted struct{}

// spend takes n units, and panics with exhausted when there are none left.
func (b *budget) spend(n int) {
	b.left -= n
	if b.left < 0 {
		panic(exhausted{})
	}
}

// grant returns the budget for reading a text of n bytes.
func grant(n int) int { return budgetBase + n*budgetPerByte }
