//go:build !linux && !darwin

package kafkaadmin

import "errors"

func statDisk(string) (diskStat, error) { return diskStat{}, errors.ErrUnsupported }

func lockHolder(string) (int, error) { return 0, errors.ErrUnsupported }
