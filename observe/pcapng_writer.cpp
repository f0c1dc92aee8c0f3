#include "observe/pcapng_writer.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "core/assert.hpp"

namespace tapestry::observe {

namespace {

constexpr std::size_t kFileBufferBytes = 1 << 20;

// Block types, option codes and flags of the format.
constexpr std::uint32_t kSectionHeader = 0x0a0d0d0a;
constexpr std::uint32_t kInterfaceDescription = 1;
constexpr std::uint32_t kEnhancedPacket = 6;
constexpr std::uint32_t kByteOrderMagic = 0x1a2b3c4d;
constexpr std::uint16_t kEthernet = 1;  // LINKTYPE_ETHERNET
constexpr std::uint16_t kEndOfOptions = 0;
constexpr std::uint16_t kComment = 1;
constexpr std::uint16_t kUserApplication = 4;  // of a section
constexpr std::uint16_t kInterfaceName = 2;    // of an interface
constexpr std::uint16_t kInterfaceText = 3;
constexpr std::uint16_t kTimeResolution = 9;
constexpr std::uint8_t kNanoseconds = 9;   // 10^-9 s
constexpr std::uint16_t kPacketFlags = 2;  // of a packet
constexpr std::uint16_t kPacketId = 5;
constexpr std::uint16_t kPacketQueue = 6;

std::uint32_t flags_of(core::Direction direction) {
  switch (direction) {
    case core::Direction::incoming:
      return 1;
    case core::Direction::outgoing:
      return 2;
    case core::Direction::unknown:
      break;
  }
  return 0;
}

}  // namespace

// A block being put together: type, length, contents in multiples of four bytes, length.
class PcapngWriter::Block {
 public:
  Block(std::vector<std::uint8_t>& bytes, std::uint32_t type) : bytes_(bytes) {
    bytes_.clear();
    add(type);
    add(std::uint32_t{0});  // the length, when it is known
  }

  template <class Number>
  void add(Number number) {
    const std::size_t at = bytes_.size();
    bytes_.resize(at + sizeof number);
    std::memcpy(bytes_.data() + at, &number, sizeof number);
  }
  void add_padded(std::span<const std::uint8_t> data) {
    bytes_.insert(bytes_.end(), data.begin(), data.end());
    bytes_.resize((bytes_.size() + 3) / 4 * 4);
  }

  void option(std::uint16_t code, std::span<const std::uint8_t> value) {
    add(code);
    add(static_cast<std::uint16_t>(value.size()));
    add_padded(value);
    has_options_ = true;
  }
  template <class Number>
  void option(std::uint16_t code, Number value) {
    std::uint8_t raw[sizeof value];
    std::memcpy(raw, &value, sizeof value);
    option(code, std::span<const std::uint8_t>(raw));
  }
  // Nothing for an empty text; what an option cannot hold is cut off.
  void option(std::uint16_t code, std::string_view text) {
    text = text.substr(0, 0xffff);
    const auto* data = reinterpret_cast<const std::uint8_t*>(text.data());
    if (!text.empty()) option(code, std::span<const std::uint8_t>(data, text.size()));
  }

  std::span<const std::uint8_t> finish() {
    if (has_options_) {
      add(kEndOfOptions);
      add(std::uint16_t{0});
    }
    const auto length = static_cast<std::uint32_t>(bytes_.size() + sizeof(std::uint32_t));
    add(length);
    std::memcpy(bytes_.data() + sizeof(std::uint32_t), &length, sizeof length);
    return bytes_;
  }

 private:
  std::vector<std::uint8_t>& bytes_;
  bool has_options_ = false;
};

core::Result<std::unique_ptr<PcapngWriter>> PcapngWriter::create(const std::string& path,
                                                                 std::string_view application,
                                                                 std::string_view comment) {
  std::unique_ptr<PcapngWriter> writer(new PcapngWriter(path));
  writer->file_ = std::fopen(path.c_str(), "wb");
  if (writer->file_ == nullptr)
    return core::Error{path + ": cannot be written: " + std::strerror(errno)};
  writer->buffer_.resize(kFileBufferBytes);
  std::setvbuf(writer->file_, writer->buffer_.data(), _IOFBF, writer->buffer_.size());
  Block section(writer->block_, kSectionHeader);
  section.add(kByteOrderMagic);
  section.add(std::uint16_t{1});  // version 1.0
  section.add(std::uint16_t{0});
  section.add(std::int64_t{-1});  // the section's length: not stated
  section.option(kUserApplication, application);
  section.option(kComment, comment);
  writer->put(section);
  return writer;
}

PcapngWriter::~PcapngWriter() {
  if (file_ != nullptr) std::fclose(file_);
}

std::size_t PcapngWriter::add_point(std::string_view name, std::string_view description,
                                    std::uint32_t snap_length) {
  Block interface(block_, kInterfaceDescription);
  interface.add(kEthernet);
  interface.add(std::uint16_t{0});
  interface.add(snap_length);
  interface.option(kInterfaceName, name);
  interface.option(kInterfaceText, description);
  interface.option(kTimeResolution, kNanoseconds);
  put(interface);
  snap_lengths_.push_back(snap_length);
  return snap_lengths_.size() - 1;
}

void PcapngWriter::write(std::size_t point, core::Instant at, std::span<const std::uint8_t> bytes,
                         std::size_t length, const Notes& notes) {
  TAPESTRY_ASSERT(point < snap_lengths_.size(), "a frame is captured at a point of its file");
  const auto ns = static_cast<std::uint64_t>(core::nanos_since_start(at));
  const std::size_t kept = std::min<std::size_t>(bytes.size(), snap_lengths_[point]);
  Block packet(block_, kEnhancedPacket);
  packet.add(static_cast<std::uint32_t>(point));
  packet.add(static_cast<std::uint32_t>(ns >> 32));
  packet.add(static_cast<std::uint32_t>(ns));
  packet.add(static_cast<std::uint32_t>(kept));
  packet.add(static_cast<std::uint32_t>(length));
  packet.add_padded(bytes.first(kept));
  if (const std::uint32_t flags = flags_of(notes.direction); flags != 0)
    packet.option(kPacketFlags, flags);
  if (notes.id != 0) packet.option(kPacketId, notes.id);
  if (notes.queue) packet.option(kPacketQueue, *notes.queue);
  packet.option(kComment, notes.comment);
  put(packet);
}

void PcapngWriter::put(Block& block) {
  const std::span<const std::uint8_t> bytes = block.finish();
  if (file_ == nullptr || error_ != 0) return;
  if (std::fwrite(bytes.data(), 1, bytes.size(), file_) != bytes.size()) error_ = errno;
}

std::string PcapngWriter::close() {
  if (file_ == nullptr) return {};
  if (std::fclose(std::exchange(file_, nullptr)) != 0 && error_ == 0) error_ = errno;
  return error_ == 0 ? std::string()
                     : path_ + ": not all frames could be written: " + std::strerror(error_);
}

}  // namespace tapestry::observe
