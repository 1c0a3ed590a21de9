// Package paper is where ink meets the page: canvases for PNG, SVG and PDF whose bytes depend on nothing but what
// was drawn, and one way to set text on all of them.
//
// Text is drawn as filled outlines of the embedded Liberation fonts on every canvas. A picture therefore looks the
// same in every format and on every machine, Greek letters and superscripts included (the PDF back end of gonum/plot
// encodes text in code page 1252, which has no ε), and a PDF holds no Type 3 font that a publisher would refuse. The
// price is that the words of a figure cannot be searched or selected.
//
// A small markup suffices for scientific labels: 10^{-3}, W_{2}^{2}, \i{x}, \b{best}. Unicode superscripts and
// subscripts (10⁻³, x₁) are set in the same way.
//
// Sources: the canvas model is gonum.org/v1/plot/vg; PDF 32000-1:2008 for the page; PNG (ISO/IEC 15948) for pHYs.
package paper
