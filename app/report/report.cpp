// The order of the page is the order of a reader's questions: what was run, did it do what was
// expected, what came out, what did others measure, how long did packets take, where did the CPU
// time go, what was lost, how can I have this again.
#include "app/report/report.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "app/report/asset.hpp"
#include "app/report/markup.hpp"
#include "app/report/sections.hpp"
#include "app/results/layout.hpp"
#include "app/version.hpp"

namespace tapestry::app {

namespace {

void head(Markup& html, const std::string& title) {
  html.raw("<!doctype html>\n").open("html", "lang=\"en\"").open("head");
  html.raw("<meta charset=\"utf-8\">\n");
  html.raw("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
  html.element("title", title + " - Tapestry");
  html.open("style").raw(asset("report.css")).close().close();
}

void expectations(Markup& html, const std::vector<JudgedExpectation>& judged) {
  if (judged.empty()) return;
  const auto held = static_cast<std::size_t>(
      std::count_if(judged.begin(), judged.end(),
                    [](const JudgedExpectation& one) { return one.verdict.passed; }));
  html.open("details", held == judged.size() ? "" : "open");
  html.element("summary", fmt::format("{} of {} expectations hold", held, judged.size()),
               held == judged.size() ? "class=\"good\"" : "class=\"bad\"");
  html.open("ul");
  for (const JudgedExpectation& one : judged)
    html.element("li", (one.verdict.passed ? "holds: " : "failed: ") + one.verdict.text,
                 one.verdict.passed ? "" : "class=\"bad\"");
  html.close().close();
}

void endings(Markup& html, const RunReport& report) {
  for (const RunResult& result : report.results)
    if (!result.finished)
      html.element("p",
                   result.variant + "." + result.workload +
                       " was cut short: its figures are of what was done.",
                   "class=\"bad\"");
  if (!report.error.empty()) html.element("p", report.error, "class=\"bad\"");
}

void provenance_section(Markup& html, const ScenarioFile& file, const RunReport& report,
                        const Provenance& provenance) {
  html.element("h2", "Where this comes from", "id=\"provenance\"").open("ul");
  html.open("li").text("Scenario ").element("code", provenance.scenario).close();
  for (const std::string& set : provenance.overrides)
    html.open("li").text("Changed by ").element("code", "--set " + set).close();
  const Scenario& first = file.variants.front();
  html.element("li", fmt::format("Seed {}, costs {}, settled {}", first.seed, first.costs,
                                 provenance.settle));
  html.element("li", fmt::format("Tapestry {} ({}), {}, Boost {}", version(), commit(), compiler(),
                                 boost()));
  html.open("li").text("Fingerprint ").element("code", report.fingerprint).close();
  html.close();
  html.element("p",
               "Everything above happened in virtual time: the same scenario and seed give the "
               "same figures on every machine.",
               "class=\"faint\"");
}

}  // namespace

std::string print_report(const ScenarioFile& file, const RunReport& report,
                         const std::vector<JudgedExpectation>& judged,
                         const Provenance& provenance) {
  Markup body;
  const std::vector<ReportSection> sections = report_sections(file, report);
  for (const ReportSection& section : sections) {
    body.element("h2", section.title, fmt::format("id=\"{}\"", section.anchor));
    if (!section.lead.empty()) body.element("p", section.lead);
    body.raw(section.body);
  }
  Markup html;
  head(html, file.title);
  html.open("body").element("h1", file.title);
  for (const std::string& paragraph : layout::paragraphs(file.about))
    html.element("p", paragraph);
  expectations(html, judged);
  endings(html, report);
  html.open("nav", "aria-label=\"sections\"");
  for (const ReportSection& section : sections)
    html.element("a", section.title, fmt::format("href=\"#{}\"", section.anchor));
  html.element("a", "Where this comes from", "href=\"#provenance\"").close();
  html.raw(body.take());
  provenance_section(html, file, report, provenance);
  html.close().close();
  return html.take();
}

}  // namespace tapestry::app
