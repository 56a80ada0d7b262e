import Glibc

/// Writes text to a descriptor at once, without buffering: children report through pipes while they are killed.
func write(_ text: String, to descriptor: Int32) {
  var text = text
  text.withUTF8 { bytes in
    var rest = UnsafeRawBufferPointer(bytes)
    while let base = rest.baseAddress, rest.count > 0 {
      let count = Glibc.write(descriptor, base, rest.count)
      if count <= 0 { return }
      rest = UnsafeRawBufferPointer(rebasing: rest[count...])
    }
  }
}

func writeFile(_ text: String, to path: String) throws {
  let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0o644)
  guard descriptor >= 0 else { throw BenchmarkFailure(description: "writing \(path): error \(errno)") }
  write(text, to: descriptor)
  close(descriptor)
}

/// Reads a whole file, or a pipe until all writers have closed it.
func readAll(_ descriptor: Int32) -> [UInt8] {
  var result: [UInt8] = []
  var buffer = [UInt8](repeating: 0, count: 1 << 16)
  while true {
    let count = read(descriptor, &buffer, buffer.count)
    if count < 0 && errno == EINTR { continue }
    if count <= 0 { return result }
    result += buffer[..<count]
  }
}

func readFile(_ path: String) throws -> [UInt8] {
  let descriptor = open(path, O_RDONLY)
  guard descriptor >= 0 else { throw BenchmarkFailure(description: "reading \(path): error \(errno)") }
  defer { close(descriptor) }
  return readAll(descriptor)
}
