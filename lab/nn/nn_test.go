package nn_test

import (
	"testing"

	"coupling/lab/nn/nntest"
)

func TestLayersOnDevice(t *testing.T) { nntest.Run(t, nntest.Open) }
