// Package mirror has the commands about the copies of other datacentres: weir mirror status and
// weir mirror skip.
package mirror
