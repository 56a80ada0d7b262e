/// Makes the allocator keep what is freed. A simulation takes and frees the same buffers over and over; returning them to the
/// system each time costs more than all else together. Call it once, at the start of a harness.
///
/// The C library of Linux raises its limits for that to (twice) the size of the largest block freed so far, up to 32 MiB; elsewhere this
/// does nothing.
package func keepFreedMemory() {
  var block: [UInt8] = []
  block.reserveCapacity(31 << 20)
  block.append(1)
}
