// A module of its own, so that weir's does not carry goka. There is no go.sum: the driver has the go command make one
// beside a copy of this file, see ../program.go.
module github.com/weirhq/weir/bench/peers/goka

go 1.26.0

require (
	github.com/IBM/sarama v1.46.3
	github.com/lovoo/goka v1.1.16
	github.com/syndtr/goleveldb v1.0.0
	github.com/weirhq/weir v0.0.0
)

replace github.com/weirhq/weir => ../../..
