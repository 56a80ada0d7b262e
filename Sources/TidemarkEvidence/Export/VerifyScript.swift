/// The verifier that goes along with each bundle: `tools/evidence/verify.py`.
enum VerifyScript {
  static let text = #"""
    """#
}
