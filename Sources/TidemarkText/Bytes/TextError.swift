/// Says where text breaks the rules of its format.
package struct TextError: Error, Equatable, Sendable {
  /// Index of the offending byte, from 0, in the bytes that were looked at.
  package var position: Int
  /// What is wrong there, as a part of a sentence.
  package var why: String

  package init(at position: Int, _ why: String) {
    self.position = position
    self.why = why
  }
}
