package budget

import (
	"fmt"
	"strings"
)

// Problem is why a field of a document is refused.
type Problem struct {
	Path string // such as campaigns[2].flights[0].end; empty: the document
	Text string // what is wrong, and what to do
}

// String returns the path and the text.
func (p Problem) String() string {
	if p.Path == "" {
		return p.Text
	}
	return p.Path + ": " + p.Text
}

// MaxProblems is the maximum number of problems that are reported of a document.
const MaxProblems = 100

// Problems is the error of a document that is refused: at least one problem, in the order of the
// document as far as it was read.
type Problems []Problem

// Error lists the problems.
func (p Problems) Error() string {
	texts := make([]string, len(p))
	for i := range p {
		texts[i] = p[i].String()
	}
	return strings.Join(texts, "; ")
}

// problems collects the problems of a document.
type problems struct {
	list Problems
	more int // that are not in list
}

func (p *problems) add(path, format string, args ...any) {
	if len(p.list) == MaxProblems {
		p.more++
		return
	}
	p.list = append(p.list, Problem{path, fmt.Sprintf(format, args...)})
}

// err returns the problems, and nil without one.
func (p *problems) err() error {
	switch {
	case len(p.list) == 0:
		return nil
	case p.more > 0:
		return append(p.list, Problem{"", fmt.Sprintf("and %d more problems", p.more)})
	}
	return p.list
}
