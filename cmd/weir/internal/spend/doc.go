// Package spend has the commands about ad spend: weir ingest, weir spend and weir adjust.
package spend
