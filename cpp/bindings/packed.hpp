// Structures of vectors as bytes, for pickling: a model or a plan that travels between processes.
#pragma once

#include <cstring>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

namespace surefoot::bindings {

class Packer {
 public:
  std::string bytes;

  template <class... Fields>
  void all(const Fields&... fields) {
    (one(fields), ...);
  }

 private:
  void one(double number) { bytes.append(reinterpret_cast<const char*>(&number), sizeof number); }

  template <class T>
  void one(const std::vector<T>& values) {
    const auto count = static_cast<std::uint64_t>(values.size());
    bytes.append(reinterpret_cast<const char*>(&count), sizeof count);
    bytes.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
  }
};

class Unpacker {
 public:
  Unpacker(const char* data, std::size_t size) : at_(data), left_(size) {}

  template <class... Fields>
  void all(Fields&... fields) {
    (one(fields), ...);
    if (left_ != 0) throw std::invalid_argument("packed state has bytes that nobody asked for");
  }

 private:
  void take(void* to, std::size_t size) {
    if (size > left_) throw std::invalid_argument("packed state is cut short");
    if (size) std::memcpy(to, at_, size);
    at_ += size;
    left_ -= size;
  }

  void one(double& number) { take(&number, sizeof number); }

  template <class T>
  void one(std::vector<T>& values) {
    static_assert(std::is_trivially_copyable_v<T>);
    std::uint64_t count = 0;
    take(&count, sizeof count);
    if (count > left_ / sizeof(T)) throw std::invalid_argument("packed state is cut short");
    values.resize(static_cast<std::size_t>(count));
    take(values.data(), values.size() * sizeof(T));
  }

  const char* at_;
  std::size_t left_;
};

}  // namespace surefoot::bindings
