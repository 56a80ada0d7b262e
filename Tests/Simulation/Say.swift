import Foundation

/// Prints a line at once, also into a pipe: a run that is stopped has told what it did.
func say(_ line: String) { FileHandle.standardOutput.write(Data((line + "\n").utf8)) }
