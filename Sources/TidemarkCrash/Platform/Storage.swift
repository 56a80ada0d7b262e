internal import CCrash

/// Mounts of this process and its children: nobody else sees them, and none of them outlives them.
enum Mounts {
  /// Throws without the privilege to mount.
  static func makePrivate() throws(CrashError) {
    guard crash_private_mounts() == 0 else { throw Libc.failure("can't mount") }
  }

  static func mount(_ source: String, at target: String, type: String, options: String = "") throws(CrashError) {
    guard unsafe crash_mount(source, target, type, options) == 0 else { throw Libc.failure("can't mount \(type)", source) }
  }

  static func unmount(_ target: String) throws(CrashError) {
    guard unsafe crash_unmount(target) == 0 else { throw Libc.failure("can't unmount", target) }
  }

  /// Gives a file system in memory another size.
  static func resize(_ target: String, byteCount: UInt64) throws(CrashError) {
    guard unsafe crash_remount(target, "size=\(byteCount)") == 0 else { throw Libc.failure("can't resize", target) }
  }

  /// Stops a file system at once, and what was not written is gone.
  static func shutDown(_ target: String) throws(CrashError) {
    guard unsafe crash_shutdown(target) == 0 else { throw Libc.failure("the file system refuses to be shut down", target) }
  }

  static func sync(_ target: String) throws(CrashError) {
    guard unsafe crash_sync_file_system(target) == 0 else { throw Libc.failure("can't sync", target) }
  }
}

/// A file as a block device. It is let go when this object and the last mount of it are gone.
final class LoopDevice {
  let path: String
  private let descriptor: Int32

  init(image: String) throws(CrashError) {
    var name = [CChar](repeating: 0, count: 32)
    let (device, text) = unsafe name.withUnsafeMutableBufferPointer { buffer -> (Int32, String) in
      guard let base = buffer.baseAddress else { return (-1, "") }
      let device = unsafe image.withCString { unsafe crash_loop_attach($0, base) }
      return (device, unsafe String(cString: base))
    }
    guard device >= 0 else { throw Libc.failure("can't attach a loop device", image) }
    descriptor = device
    path = text
  }

  deinit { Libc.close(descriptor) }

  /// Forgets what the kernel has cached, because the file below was changed.
  func forgetCache() { _ = crash_forget_cache(descriptor) }
}

/// The block that is shared with a disk's process.
@safe final class DiskControl: Sendable {
  // The pointer never changes, and what it points to is read and written atomically.
  private nonisolated(unsafe) let control: UnsafeMutablePointer<crash_disk_control>

  init(path: String) throws(CrashError) {
    guard let map = unsafe crash_disk_map(path, true) else { throw Libc.failure("can't map", path) }
    unsafe control = map
  }

  deinit { unsafe crash_disk_unmap(control) }

  /// How many entries the record has.
  var entryCount: UInt64 { unsafe crash_disk_entries(control) }
  /// How many requests were answered with an error.
  var failureCount: UInt64 { unsafe crash_disk_failures(control) }

  func setFault(_ fault: DiskFault) { unsafe crash_disk_set_fault(control, fault.rawValue) }
}

/// What a disk refuses.
struct DiskFault: OptionSet {
  let rawValue: UInt32
  static let writes = DiskFault(rawValue: 1)
  static let flushes = DiskFault(rawValue: 2)
}

extension Libc {
  /// Serves a disk until its driver is gone. Throws if it can't be begun.
  static func serveDisk(target: String, image: String, record: String, control: String) throws(CrashError) {
    guard unsafe crash_disk_serve(target, image, record, control) == 0 else { throw failure("the disk in user space failed", target) }
  }
}
