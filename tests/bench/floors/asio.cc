// What Boost.Asio adds to a bare epoll cycle, and what its timers and handlers cost.
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <boost/asio.hpp>
#include "common.h"
namespace as = boost::asio;
int main() {
  int fd = eventfd(0, EFD_NONBLOCK);
  {
    int ep = epoll_create1(0);
    epoll_event e{};
    e.events = EPOLLIN | EPOLLET;
    epoll_ctl(ep, EPOLL_CTL_ADD, fd, &e);
    bench("raw epoll ET: write+epoll_wait+read per event", 300000, [&](uint64_t n) {
      uint64_t x = 1;
      epoll_event o;
      for (uint64_t i = 0; i < n; i++) {
        x = 1;
        if (write(fd, &x, 8) < 0 || epoll_wait(ep, &o, 1, -1) != 1 || read(fd, &x, 8) < 0) abort();
      }
    });
    close(ep);
  }
  for (int hint : {1, 2}) {
    as::io_context io(hint == 1 ? 1 : BOOST_ASIO_CONCURRENCY_HINT_UNSAFE);
    as::posix::stream_descriptor sd(io, fd);
    char nm[96];
    snprintf(nm, 96, "asio async_wait: write+wait+read per event (hint %s)",
             hint == 1 ? "1" : "UNSAFE");
    uint64_t left = 0;
    std::function<void()> arm;
    auto go = [&](auto& self) -> void {
      sd.async_wait(as::posix::stream_descriptor::wait_read, [&](boost::system::error_code) {
        uint64_t x;
        if (read(fd, &x, 8) < 0) abort();
        if (--left) {
          x = 1;
          if (write(fd, &x, 8) < 0) abort();
          self(self);
        }
      });
    };
    bench(nm, 300000, [&](uint64_t n) {
      left = n;
      uint64_t x = 1;
      if (write(fd, &x, 8) < 0) abort();
      go(go);
      io.restart();
      io.run();
    });
    sd.release();
  }
  {
    as::io_context io(1);
    bench("asio post+run handler", 1000000, [&](uint64_t n) {
      uint64_t left = n;
      auto go = [&](auto& self) -> void {
        as::post(io, [&] {
          if (--left) self(self);
        });
      };
      go(go);
      io.restart();
      io.run();
    });
    as::steady_timer t(io);
    bench("asio steady_timer expires_after(0)+async_wait", 200000, [&](uint64_t n) {
      uint64_t left = n;
      auto go = [&](auto& self) -> void {
        t.expires_after(std::chrono::seconds(0));
        t.async_wait([&](auto) {
          if (--left) self(self);
        });
      };
      go(go);
      io.restart();
      io.run();
    });
  }
}
