# Monitor Gateway for Homebrew on Linux. This is the template: packaging/release.sh fills in version, addresses and
# checksums, and writes the formula beside the other files of a release.
class Monitor < Formula
  desc "Gateway and analysis backend for calls of language models"
  homepage "@URL@"
  version "@VERSION@"
  license "Apache-2.0"

  depends_on :linux

  # @ARCHIVES@
  def install
    bin.install "bin/monitor"
    man1.install Dir["share/man/man1/*"]
    bash_completion.install "share/bash-completion/completions/monitor"
    zsh_completion.install "share/zsh/vendor-completions/_monitor"
    fish_completion.install "share/fish/vendor_completions.d/monitor.fish"
    pkgshare.install "conf"
    doc.install "docs"
    prefix.install "NOTICE"
  end

  service do
    run [opt_bin/"monitor", "all"]
    environment_variables MONITOR_DATA_DIR: var/"lib/monitor"
    keep_alive true
  end

  def caveats
    <<~TEXT
      The service listens on loopback only. Every setting: #{opt_pkgshare}/conf/all.yaml
    TEXT
  end

  test do
    assert_equal "monitor #{version}", shell_output("#{bin}/monitor --version").strip
  end
end
