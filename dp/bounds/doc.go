// Package bounds holds published amplification and group-privacy bounds, for comparison: the
// accountants' values are at most as large. [GroupDelta] and [GroupRenyi] are the tight bounds of
// one step to compare them with.
package bounds

import "coupling/dp/internal/check"

const in = check.In("bounds")

var bad = in.Bad
