// ns-3: UDP stream between two hosts, full Internet stack, virtual payload.
//
// 2-host UDP stream with full Internet stack. args: kind(p2p|csma) npackets pcap(0/1) sched
#include <sys/resource.h>
#include <chrono>
#include <cstdio>
#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/csma-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
using namespace ns3;
static Ptr<Socket> tx;
static uint64_t left_;
static Time gap;
static uint64_t rxp = 0, rxb = 0;
static uint32_t plen = 1472;
static void SendOne() {
  tx->Send(Create<Packet>(plen));
  if (--left_) Simulator::Schedule(gap, &SendOne);
}
static void Rx(Ptr<Socket> s) {
  Ptr<Packet> p;
  while ((p = s->Recv())) {
    rxp++;
    rxb += p->GetSize();
  }
}
int main(int argc, char** argv) {
  std::string kind = argv[1];
  uint64_t n = strtoull(argv[2], 0, 0);
  bool pcap = atoi(argv[3]);
  std::string sched = argc > 4 ? argv[4] : "map";
  bool apps = argc > 5 && atoi(argv[5]);
  if (sched == "heap") GlobalValue::Bind("SchedulerType", StringValue("ns3::HeapScheduler"));
  if (sched == "cal") GlobalValue::Bind("SchedulerType", StringValue("ns3::CalendarScheduler"));
  if (sched == "pq") GlobalValue::Bind("SchedulerType", StringValue("ns3::PriorityQueueScheduler"));
  NodeContainer nodes;
  nodes.Create(2);
  NetDeviceContainer devs;
  PointToPointHelper p2p;
  CsmaHelper csma;
  if (kind == "p2p") {
    p2p.SetDeviceAttribute("DataRate", StringValue("10Gbps"));
    p2p.SetChannelAttribute("Delay", StringValue("1us"));
    devs = p2p.Install(nodes);
  } else {
    csma.SetChannelAttribute("DataRate", StringValue("10Gbps"));
    csma.SetChannelAttribute("Delay", TimeValue(NanoSeconds(500)));
    devs = csma.Install(nodes);
  }
  InternetStackHelper st;
  st.Install(nodes);
  Ipv4AddressHelper a;
  a.SetBase("10.1.1.0", "255.255.255.0");
  auto ifs = a.Assign(devs);
  // 1538 wire bytes at 10G = 1230.4ns; p2p ns3 frame=1502 => 1201.6 ns. send at 1300ns to leave no
  // loss (csma: + 500ns prop)
  gap = kind == "p2p" ? NanoSeconds(1232) : NanoSeconds(2600);
  if (!apps) {
    TypeId tid = TypeId::LookupByName("ns3::UdpSocketFactory");
    Ptr<Socket> rx = Socket::CreateSocket(nodes.Get(1), tid);
    rx->Bind(InetSocketAddress(Ipv4Address::GetAny(), 9));
    rx->SetRecvCallback(MakeCallback(&Rx));
    tx = Socket::CreateSocket(nodes.Get(0), tid);
    tx->Bind();
    tx->Connect(InetSocketAddress(ifs.GetAddress(1), 9));
    left_ = n;
    Simulator::Schedule(Seconds(1), &SendOne);
  }
  if (pcap) {
    if (kind == "p2p")
      p2p.EnablePcap("o", devs.Get(1), true);
    else
      csma.EnablePcap("o", devs.Get(1), true);
  }
  auto t0 = std::chrono::steady_clock::now();
  Simulator::Run();
  double w = std::chrono::duration<double>(std::chrono::steady_clock::now() - t0).count();
  uint64_t ev = Simulator::GetEventCount();
  rusage r;
  getrusage(RUSAGE_SELF, &r);
  double cpu =
      r.ru_utime.tv_sec + r.ru_utime.tv_usec * 1e-6 + r.ru_stime.tv_sec + r.ru_stime.tv_usec * 1e-6;
  printf(
      "%s pcap=%d sched=%s sent=%lu rx=%lu wall=%.3f cpu_total=%.3f pps=%.0f ev=%lu evps=%.0f "
      "ev/pkt=%.2f simt=%.3f maxrss_kb=%ld\n",
      kind.c_str(), pcap, sched.c_str(), n, rxp, w, cpu, rxp / w, ev, ev / w, double(ev) / rxp,
      Simulator::Now().GetSeconds(), r.ru_maxrss);
  Simulator::Destroy();
}
