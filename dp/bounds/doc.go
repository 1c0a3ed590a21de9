// Package bounds holds published amplification and group-privacy bounds, which the literature compares with: what the accountants
// find is at most as large. [GroupDelta] and [GroupRenyi] are the tight bounds of one step that they are compared to.
package bounds

import "coupling/dp/internal/check"

const in = check.In("bounds")

var bad = in.Bad
