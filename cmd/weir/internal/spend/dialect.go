package spend

import (
	"fmt"
	"strings"

	"github.com/spf13/pflag"

	"github.com/weirhq/weir/cmd/weir/internal/cli"
	"github.com/weirhq/weir/events/ingest"
)

// dialect is the flags of a CSV file, as the user gave them.
type dialect struct{ columns, delimiter, decimal, limit string }

func (d *dialect) add(f *pflag.FlagSet, only, amounts string) {
	f.StringVar(&d.delimiter, "delimiter", "", only+"character between columns, or tab (default: ,)")
	f.StringVar(&d.decimal, "decimal", "", only+"decimal mark of "+amounts+", a point or a comma (default: .)")
}

// addLimit adds the flag of the greatest number of rejected rows. then is what happens beyond it.
func (d *dialect) addLimit(f *pflag.FlagSet, then string) {
	f.StringVar(&d.limit, "max-rejects", "10%", then+", with exit code 65, if more rows are rejected: a number, or a percentage")
}

// dialectTo is where the parsed flags go.
type dialectTo struct {
	columns            *map[string]string
	delimiter, decimal *byte
	limit              *ingest.RejectLimit
}

// parse parses the flags. fields are those of a column map.
func (d *dialect) parse(to dialectTo, fields []string) (err error) {
	if d.columns != "" {
		if *to.columns, err = ingest.ParseMap(d.columns); err != nil {
			return cli.UsageError(usageText(err), "write --map field=column,field=column; the fields are: "+strings.Join(fields, ", "))
		}
	}
	if *to.limit, err = ingest.ParseRejectLimit(d.limit); err != nil {
		return cli.UsageError(usageText(err), "write --max-rejects 100 or --max-rejects 10%")
	}
	if *to.delimiter, err = oneByte(d.delimiter); err != nil {
		return cli.UsageError("--delimiter: "+err.Error(), "write --delimiter ';' or --delimiter tab")
	}
	if *to.decimal, err = oneByte(d.decimal); err != nil {
		return cli.UsageError("--decimal: "+err.Error(), "write --decimal ',' or --decimal .")
	}
	return nil
}

// oneByte returns the character of a flag: 0 if it is not given.
func oneByte(text string) (byte, error) {
	switch {
	case text == "":
		return 0, nil
	case text == "tab" || text == `\t`:
		return '\t', nil
	case len(text) == 1:
		return text[0], nil
	}
	return 0, fmt.Errorf("%q is not one ASCII character", text)
}
