/// A precondition of a test that does not hold.
package struct Unexpected: Error, CustomStringConvertible {
  package let description: String

  package init(_ description: String) { self.description = description }
}
