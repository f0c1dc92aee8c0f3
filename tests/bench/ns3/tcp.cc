// ns-3: TCP bulk transfer between two hosts.
#include <sys/resource.h>
#include <chrono>
#include <cstdio>
#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
using namespace ns3;
static uint64_t txp = 0;
static void PhyTx(Ptr<const Packet>) { txp++; }
int main(int argc, char** argv) {
  double secs = atof(argv[1]);
  bool pcap = atoi(argv[2]);
  std::string rate = argc > 3 ? argv[3] : "10Gbps";
  Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(1448));
  Config::SetDefault("ns3::TcpSocket::SndBufSize",
                     UintegerValue(getenv("BUF") ? atoi(getenv("BUF")) : 131072));
  Config::SetDefault("ns3::TcpSocket::RcvBufSize",
                     UintegerValue(getenv("BUF") ? atoi(getenv("BUF")) : 131072));
  Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(10));
  NodeContainer nodes;
  nodes.Create(2);
  PointToPointHelper p2p;
  p2p.SetDeviceAttribute("DataRate", StringValue(rate));
  p2p.SetChannelAttribute("Delay", StringValue("10us"));
  p2p.SetQueue("ns3::DropTailQueue", "MaxSize", StringValue("2000p"));
  auto devs = p2p.Install(nodes);
  InternetStackHelper st;
  st.Install(nodes);
  Ipv4AddressHelper a;
  a.SetBase("10.1.1.0", "255.255.255.0");
  auto ifs = a.Assign(devs);
  BulkSendHelper bs("ns3::TcpSocketFactory", InetSocketAddress(ifs.GetAddress(1), 9));
  bs.SetAttribute("MaxBytes", UintegerValue(0));
  bs.SetAttribute("SendSize", UintegerValue(1448 * 16));
  auto sa = bs.Install(nodes.Get(0));
  sa.Start(Seconds(0));
  PacketSinkHelper ps("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), 9));
  auto ka = ps.Install(nodes.Get(1));
  ka.Start(Seconds(0));
  for (int i = 0; i < 2; i++)
    devs.Get(i)->TraceConnectWithoutContext("PhyTxEnd", MakeCallback(&PhyTx));
  if (pcap) p2p.EnablePcap("t", devs.Get(1), true);
  Simulator::Stop(Seconds(secs));
  auto t0 = std::chrono::steady_clock::now();
  Simulator::Run();
  double w = std::chrono::duration<double>(std::chrono::steady_clock::now() - t0).count();
  uint64_t b = DynamicCast<PacketSink>(ka.Get(0))->GetTotalRx(), ev = Simulator::GetEventCount();
  rusage r;
  getrusage(RUSAGE_SELF, &r);
  printf(
      "tcp pcap=%d sim=%.2f bytes=%lu simGbps=%.2f wall=%.3f MB/wall_s=%.1f datapps=%.0f "
      "framespps=%.0f ev=%lu evps=%.0f maxrss_kb=%ld\n",
      pcap, secs, b, b * 8 / secs / 1e9, w, b / w / 1e6, b / 1448. / w, txp / w, ev, ev / w,
      r.ru_maxrss);
  Simulator::Destroy();
}
