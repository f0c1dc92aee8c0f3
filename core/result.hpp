// A value, or the reason why there is none.
//
// For everything that the outside world can get wrong: a scenario, a quantity, a file, a
// descriptor. Bugs do not come this way, they assert. The message is written for the user and names
// what was expected; who reads files adds the position in front of it.
#pragma once

#include <string>
#include <utility>
#include <variant>

#include "core/assert.hpp"

namespace tapestry::core {

struct Error {
  std::string message;
};

// Asking for the value of a failed result, or for the error of a good one, is a bug and asserts.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : outcome_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : outcome_(std::in_place_index<1>, std::move(error)) {}

  bool ok() const { return outcome_.index() == 0; }
  explicit operator bool() const { return ok(); }

  const T& value() const& {
    TAPESTRY_ASSERT(ok(), error_text());
    return *std::get_if<0>(&outcome_);
  }
  T& value() & {
    TAPESTRY_ASSERT(ok(), error_text());
    return *std::get_if<0>(&outcome_);
  }
  T&& value() && {
    TAPESTRY_ASSERT(ok(), error_text());
    return std::move(*std::get_if<0>(&outcome_));
  }
  const T& operator*() const& { return value(); }
  T& operator*() & { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  const T* operator->() const { return &value(); }
  T* operator->() { return &value(); }

  const Error& error() const {
    TAPESTRY_ASSERT(!ok(), "a good result has no error");
    return *std::get_if<1>(&outcome_);
  }

 private:
  const char* error_text() const {
    const Error* error = std::get_if<1>(&outcome_);
    return error != nullptr ? error->message.c_str() : "";
  }

  std::variant<T, Error> outcome_;
};

// Success without a value: `return {};`
template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)), ok_(false) {}

  bool ok() const { return ok_; }
  explicit operator bool() const { return ok_; }
  const Error& error() const {
    TAPESTRY_ASSERT(!ok_, "a good result has no error");
    return error_;
  }

 private:
  Error error_;
  bool ok_ = true;
};

}  // namespace tapestry::core
