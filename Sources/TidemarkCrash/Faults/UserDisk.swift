/// A disk in user space: a process of its own that serves one file through FUSE, with a loop device on it. It records writes and flushes,
/// and refuses them on request.
final class UserDisk {
  let image: String
  let record: String
  let control: DiskControl
  /// The disk as a block device.
  private(set) var device: LoopDevice?
  private let target: String
  private let process: ChildProcess
  /// The process ends when this is closed.
  private var leash: Int32

  /// - Parameter image: what it is backed by; it must be there.
  init(in folder: String, image: String, records: Bool) throws(CrashError) {
    self.image = image
    target = folder + "/disk"
    record = records ? folder + "/record" : ""
    try Libc.makeDirectory(target)
    let controlPath = folder + "/control"
    control = try DiskControl(path: controlPath)
    let input = try Libc.pipe()
    let output = try Libc.pipe()
    defer {
      Libc.close(input.read)
      Libc.close(output.read)
    }
    do {
      defer { Libc.close(output.write) }
      process = try ChildProcess(
        LimitProgram.path, [DiskProgram.word, target, image, record, controlPath], input: input.read, output: output.write, errors: 2)
    }
    leash = input.write
    var answer: [UInt8] = []
    guard Libc.isReadable(output.read, milliseconds: 10_000), Libc.read(output.read, into: &answer) > 0 else {
      throw CrashError(.environment, "the disk in user space does not start", place: target, why: "it said nothing")
    }
    device = try LoopDevice(image: target + "/disk")
  }

  deinit { end() }

  /// Lets the loop device go and ends the process. Nothing may be mounted on it any more.
  func end() {
    guard leash >= 0 else { return }
    control.setFault([])
    device = nil
    // The loop device is let go a moment after its last descriptor.
    var attempts = 0
    while (try? Mounts.unmount(target)) == nil && attempts < 20 { attempts += 1 }
    Libc.close(leash)
    leash = -1
    process.wait()
  }
}
