// A place where watchers may look, for the price of one predictable branch while nobody does.
//
// A watcher is attached for as long as its handle lives. It is told, it is not asked: it gets its
// arguments as they are, returns nothing and must not change the world. Watchers are told in the
// order in which they came. A watcher may detach itself or others, or attach new ones, while it is
// told.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

namespace tapestry::core {

namespace detail {

// What a handle needs to know of a probe, whatever the probe's arguments are.
class WatcherList {
 public:
  virtual ~WatcherList() = default;
  virtual void detach(std::size_t watcher) = 0;
};

}  // namespace detail

// Detaches when it is destroyed. Outlives its probe without harm.
class [[nodiscard]] ProbeHandle {
 public:
  ProbeHandle() = default;
  ProbeHandle(std::weak_ptr<detail::WatcherList> list, std::size_t watcher)
      : list_(std::move(list)), watcher_(watcher) {}
  ProbeHandle(ProbeHandle&& other) noexcept
      : list_(std::exchange(other.list_, {})), watcher_(other.watcher_) {}
  ProbeHandle& operator=(ProbeHandle&& other) noexcept {
    detach();
    list_ = std::exchange(other.list_, {});
    watcher_ = other.watcher_;
    return *this;
  }
  ~ProbeHandle() { detach(); }

  void detach() {
    if (const auto list = list_.lock()) list->detach(watcher_);
    list_.reset();
  }

 private:
  std::weak_ptr<detail::WatcherList> list_;
  std::size_t watcher_ = 0;
};

template <class... Args>
class Probe {
 public:
  using Watcher = std::function<void(Args...)>;

  Probe() = default;
  Probe(const Probe&) = delete;
  Probe& operator=(const Probe&) = delete;

  ProbeHandle watch(Watcher watcher) {
    if (list_ == nullptr) list_ = std::make_shared<List>(watched_);
    return ProbeHandle(list_, list_->attach(std::move(watcher)));
  }

  bool watched() const { return watched_; }

  void operator()(Args... args) const {
    if (watched_) [[unlikely]]
      list_->tell(args...);
  }

 private:
  class List final : public detail::WatcherList {
   public:
    // The flag lives as long as the probe, and so does everybody who can tell or attach. A handle
    // that outlives the probe finds the list gone.
    explicit List(bool& watched) : watched_(watched) {}

    std::size_t attach(Watcher watcher) {
      entries_.push_back({next_, false, std::make_unique<Watcher>(std::move(watcher))});
      watched_ = true;
      return next_++;
    }

    void detach(std::size_t watcher) override {
      for (Entry& entry : entries_) {
        if (entry.number == watcher) entry.gone = true;
      }
      if (depth_ == 0) sweep();
    }

    // A function stays where it is while it runs, even if it detaches itself or attaches others.
    void tell(Args... args) {
      ++depth_;
      const std::size_t present = entries_.size();
      for (std::size_t i = 0; i < present; ++i) {
        if (!entries_[i].gone) (*entries_[i].call)(args...);
      }
      if (--depth_ == 0) sweep();
    }

   private:
    struct Entry {
      std::size_t number;
      bool gone;
      std::unique_ptr<Watcher> call;
    };

    void sweep() {
      std::erase_if(entries_, [](const Entry& entry) { return entry.gone; });
      watched_ = !entries_.empty();
    }

    std::vector<Entry> entries_;
    std::size_t next_ = 0;
    std::size_t depth_ = 0;
    bool& watched_;
  };

  bool watched_ = false;
  std::shared_ptr<List> list_;
};

}  // namespace tapestry::core
