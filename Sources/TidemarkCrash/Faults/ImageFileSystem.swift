/// A small file system in an image of its own, on a loop device.
final class ImageFileSystem {
  let kind: String
  let image: String
  /// Where it is mounted.
  let mountPoint: String
  private let options: String
  private(set) var device: LoopDevice?
  private var isMounted = false

  /// Makes it in a folder; it is not mounted yet.
  init(kind: String, in folder: String, byteCount: UInt64, blockByteCount: Int = 4096, options: String = "") throws(CrashError) {
    self.kind = kind
    self.options = options
    image = folder + "/image"
    mountPoint = folder + "/mounted"
    try Libc.makeDirectory(mountPoint)
    try Self.makeFile(image, byteCount)
    try format(blockByteCount)
    device = try LoopDevice(image: image)
  }

  deinit { try? unmount() }

  static func makeFile(_ path: String, _ byteCount: UInt64) throws(CrashError) {
    let file = try Libc.open(path, 0o2 | 0o100)  // O_RDWR | O_CREAT
    defer { Libc.close(file) }
    guard Libc.truncate(file, to: 0), Libc.truncate(file, to: byteCount) else { throw Libc.failure("can't make the image", path) }
  }

  private func format(_ blockByteCount: Int) throws(CrashError) {
    try Self.format(image, kind, blockByteCount)
  }

  static func format(_ path: String, _ kind: String, _ blockByteCount: Int, _ more: [String] = []) throws(CrashError) {
    guard let tool = Libc.tool("mkfs.\(kind)") else {
      throw CrashError(.environment, "can't make a file system", why: "mkfs.\(kind) is not installed")
    }
    let arguments =
      kind == "ext4"
      ? ["-q", "-F", "-b", "\(blockByteCount)", "-E", "lazy_itable_init=0,nodiscard"] + more + [path] : ["-q", "-f", "-K"] + more + [path]
    let result = try Captured(tool, arguments, seconds: 60)
    guard result.code == 0 else {
      throw CrashError(.environment, "can't make a file system", place: path, why: "mkfs.\(kind) failed\(result.remark)")
    }
  }

  func mount() throws(CrashError) {
    guard let device else { return }
    try Mounts.mount(device.path, at: mountPoint, type: kind, options: options)
    isMounted = true
  }

  func unmount() throws(CrashError) {
    guard isMounted else { return }
    try Mounts.unmount(mountPoint)
    isMounted = false
  }

  /// The power is gone: what was in memory is lost.
  func shutDown() throws(CrashError) { try Mounts.shutDown(mountPoint) }
}
