// Package spend has the commands about ad spend: weir ingest and weir spend.
package spend
