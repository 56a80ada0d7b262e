import Testing
import TidemarkEvidence
import TidemarkLog

@Suite struct TreeTests {
  private let hasher = SHA256()

  /// The leaves and roots that the reference implementation of Certificate Transparency (RFC 6962) is tested with.
  @Test func `the published roots`() {
    let inputs: [[UInt8]] = [
      [], [0x00], [0x10], [0x20, 0x21], [0x30, 0x31], [0x40, 0x41, 0x42, 0x43], [0x50, 0x51, 0x52, 0x53, 0x54, 0x55, 0x56, 0x57],
      Array(0x60...0x6F),
    ]
    let roots = [
      "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
      "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
      "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
      "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
      "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
      "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
      "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
      "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
      "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
    ]
    var range = CompactRange()
    #expect(range.root(hasher).hexadecimal == roots[0])
    for (index, input) in inputs.enumerated() {
      range.append(Descriptor(bytes: input).leaf(hasher), hasher)
      #expect(range.root(hasher).hexadecimal == roots[index + 1])
    }
  }

  private func leaves(_ count: Int) -> [Digest256] { (0..<count).map { hasher.hash(Array("leaf \($0)".utf8)) } }

  @Test func `a compact range has the root of the definition at every size, and continues from its encoding`() {
    let leaves = leaves(700)
    var range = CompactRange()
    for size in 0...700 {
      #expect(range.root(hasher) == naiveRoot(leaves[..<size], hasher))
      #expect(CompactRange(size: range.size, subtrees: range.subtrees) == range)
      #expect(CompactRange(size: range.size + 1, subtrees: range.subtrees + (size % 2 == 0 ? [] : [.zero])) == nil)
      if size < 700 { range.append(leaves[size], hasher) }
    }
  }

  @Test func `every proof of inclusion holds, and with anything changed it does not`() throws {
    let fixture = try Fixture()
    try fixture.append(70)
    try fixture.evidence.update()
    let leaves = try fixture.descriptors().map { $0.leaf(hasher) }
    for size in 1...leaves.count {
      let root = naiveRoot(leaves[..<size], hasher)
      for offset in 0..<size {
        let proof = try fixture.evidence.inclusionProof(of: Offset(offset), in: Offset(size))
        #expect(proof.isValid(leaf: leaves[offset], root: root, hasher))
        guard size % 13 == 0 || size < 9 else { continue }
        for other in 0..<size where other != offset {
          let moved = InclusionProof(offset: Offset(other), size: Offset(size), hashes: proof.hashes)
          #expect(!moved.isValid(leaf: leaves[offset], root: root, hasher))
        }
        for index in proof.hashes.indices {
          var hashes = proof.hashes
          hashes[index] = hasher.hash(hashes[index].bytes)
          #expect(
            !InclusionProof(offset: Offset(offset), size: Offset(size), hashes: hashes).isValid(leaf: leaves[offset], root: root, hasher))
          hashes.remove(at: index)
          #expect(
            !InclusionProof(offset: Offset(offset), size: Offset(size), hashes: hashes).isValid(leaf: leaves[offset], root: root, hasher))
        }
        let longer = InclusionProof(offset: Offset(offset), size: Offset(size), hashes: proof.hashes + [root])
        #expect(!longer.isValid(leaf: leaves[offset], root: root, hasher))
        #expect(!proof.isValid(leaf: root, root: root, hasher) || size == 1)
      }
    }
    #expect(!InclusionProof(offset: 3, size: 3, hashes: []).isValid(leaf: leaves[0], root: leaves[0], hasher))
    #expect(!InclusionProof(offset: 0, size: 0, hashes: []).isValid(leaf: leaves[0], root: leaves[0], hasher))
  }

  @Test func `every proof of consistency holds, and with anything changed it does not`() throws {
    let fixture = try Fixture()
    try fixture.append(66)
    try fixture.evidence.update()
    let leaves = try fixture.descriptors().map { $0.leaf(hasher) }
    let roots = (0...leaves.count).map { naiveRoot(leaves[..<$0], hasher) }
    for size in 0...leaves.count {
      for old in 0...size {
        let proof = try fixture.evidence.consistencyProof(from: Offset(old), to: Offset(size))
        #expect(proof.isValid(from: roots[old], to: roots[size], hasher))
        guard size % 11 == 0 || size < 9 else { continue }
        for other in roots.indices where other != old { #expect(!proof.isValid(from: roots[other], to: roots[size], hasher)) }
        // From nothing everything follows.
        if old > 0 {
          for other in roots.indices where other != size { #expect(!proof.isValid(from: roots[old], to: roots[other], hasher)) }
        }
        for index in proof.hashes.indices {
          var hashes = proof.hashes
          hashes[index] = hasher.hash(hashes[index].bytes)
          #expect(
            !ConsistencyProof(oldSize: proof.oldSize, size: proof.size, hashes: hashes).isValid(from: roots[old], to: roots[size], hasher))
          hashes.remove(at: index)
          #expect(
            !ConsistencyProof(oldSize: proof.oldSize, size: proof.size, hashes: hashes).isValid(from: roots[old], to: roots[size], hasher))
        }
        let longer = ConsistencyProof(oldSize: proof.oldSize, size: proof.size, hashes: proof.hashes + [roots[1]])
        #expect(!longer.isValid(from: roots[old], to: roots[size], hasher))
      }
    }
    #expect(!ConsistencyProof(oldSize: 4, size: 3, hashes: []).isValid(from: roots[4], to: roots[3], hasher))
  }
}
