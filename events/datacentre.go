package events

import (
	"fmt"
	"strings"
)

// maxDCName keeps the longest topic name far below Kafka's limit of 249 characters.
const maxDCName = 32

// ValidateDC returns an error unless a datacentre's name can be part of topic names: 1 to 32
// lower-case letters, digits and dashes, beginning with a letter and not ending with a dash. The
// names of AWS regions are valid.
func ValidateDC(dc string) error {
	why := ""
	switch {
	case dc == "":
		why = "empty"
	case len(dc) > maxDCName:
		why = fmt.Sprintf("longer than %d characters", maxDCName)
	case strings.ContainsFunc(dc, notInDC):
		why = "has other characters than a-z, 0-9 and dashes"
	case dc[0] < 'a' || dc[len(dc)-1] == '-':
		why = "does not begin with a letter, or ends with a dash"
	default:
		return nil
	}
	return fmt.Errorf("datacentre %.40q: %s: topics are named after it: use a name such as eu-west-1", dc, why)
}

func notInDC(r rune) bool {
	return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-'
}
