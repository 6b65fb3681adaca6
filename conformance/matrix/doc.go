// Package matrix combines JSON reports of the conformance suite into one page about many products: a table by client, by area and by
// clause, and for each product the causes of its findings. [Read] reads a directory of reports; [Writers] lists the forms of the page.
//
// A report NAME.json may have a file NAME.product.yaml (or .yml, .json) next to it with a [Product]: name, version and how to reproduce the
// run. A report does not contain these, because the suite cannot read them from a server.
package matrix
