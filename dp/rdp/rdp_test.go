package rdp_test

import (
	"testing"

	"coupling/dp"
	"coupling/dp/dptest"
)

func TestConformance(t *testing.T) {
	dptest.Run(t, dptest.Subject{Accountant: dp.RDP{}})
}
