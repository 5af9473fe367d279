package lint

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// eventsDoc lists the log events. Each has a row that begins with the event's name. Events of the
// API have the prefix "api." and need no row.
const eventsDoc = "docs/log-events.md"

// CheckEvents returns a complaint for each log message that is not the name of an event, for each
// event without a row in eventsDoc, for each row whose event is not logged, and for each duration
// whose field does not name its unit.
func CheckEvents(files []File) []string {
	name, row := regexp.MustCompile(`^([a-z]+\.)?[a-z0-9]+(_[a-z0-9]+)*$`), regexp.MustCompile("(?m)^\\| `([^`]*)` \\|")
	explained, logged := map[string]bool{}, map[string]bool{}
	for _, f := range files {
		if f.Path == eventsDoc {
			for _, m := range row.FindAllSubmatch(f.Text, -1) {
				explained[string(m[1])] = true
			}
		}
	}
	var bad []string
	for _, f := range files {
		if !isGo(f.Path) || isTest(f.Path) {
			continue
		}
		for _, m := range arguments(f, "Dur") {
			if field, err := strconv.Unquote(m.text); err != nil || !strings.HasSuffix(field, "_ms") {
				bad = append(bad,
					fmt.Sprintf("%s: the field %s of a log event is a duration without a unit: end its name with _ms", m.at, m.text))
			}
		}
		for _, m := range arguments(f, "Msg", "Msgf") {
			event, err := strconv.Unquote(m.text)
			switch {
			case err != nil || !name.MatchString(event):
				bad = append(bad,
					fmt.Sprintf(
						"%s: the log message %s is not an event name, for which operators search: write one name such as store_rebuilt, and put the rest into fields", m.at, m.text))
			case !strings.Contains(event, "."):
				if logged[event] = true; !explained[event] {
					bad = append(bad,
						fmt.Sprintf(
							"%s: the event %s has no row in %s, where operators look it up: add a row with its meaning and what to do",
							m.at, event, eventsDoc))
				}
			}
		}
	}
	for event := range explained {
		if !logged[event] {
			bad = append(bad,
				fmt.Sprintf("%s has a row for the event %s, which no code logs: remove the row, or write the present name of the event",
					eventsDoc, event))
		}
	}
	slices.Sort(bad)
	return bad
}

// argument is the first argument of a call, as in the source.
type argument struct {
	at   token.Position
	text string
}

// arguments returns those of the calls of methods.
func arguments(f File, methods ...string) []argument {
	fset := token.NewFileSet()
	tree, err := parser.ParseFile(fset, f.Path, f.Text, 0)
	if err != nil {
		return nil // the compiler reports it
	}
	var list []argument
	ast.Inspect(tree, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok || len(call.Args) == 0 {
			return true
		}
		fn, ok := call.Fun.(*ast.SelectorExpr)
		if !ok || !slices.Contains(methods, fn.Sel.Name) {
			return true
		}
		m := argument{fset.Position(call.Pos()), "that is not a literal"}
		switch arg := call.Args[0].(type) {
		case *ast.BasicLit:
			m.text = arg.Value
		case *ast.SelectorExpr: // the caller passes the name
			return true
		}
		list = append(list, m)
		return true
	})
	return list
}
