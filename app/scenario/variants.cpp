// Merging, multiplying, overriding.
#include "app/scenario/variants.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "app/scenario/names.hpp"

namespace tapestry::app {
namespace {

bool removes(const Value& change) {
  return change.is_scalar() && !change.quoted && change.text == "~";
}

// A device that is given as UML's own line has no attributes of its own to merge with, and none to
// keep.
bool starts_afresh(const Value& base, const Value& change) {
  if (base.find("line") != nullptr || change.find("line") != nullptr) {
    return base.find("line") == nullptr || change.find("kind") != nullptr;
  }
  for (const std::string_view key : {"kind", "platform"}) {
    const Value::Entry* const before = base.find(key);
    const Value::Entry* const after = change.find(key);
    if (before != nullptr && after != nullptr && before->value.text != after->value.text)
      return true;
  }
  return false;
}

void merge(Value& base, const Value& change, Diagnostics& diagnostics);

void merge_entry(Value& base, const Value::Entry& change, Diagnostics& diagnostics) {
  Value::Entry* const before = base.find(change.key);
  if (removes(change.value)) {
    if (before == nullptr) {
      diagnostics.add(change.value.at, change.value.path +
                                           ": '~' removes an entry of the base, which has no " +
                                           quote(change.key));
      return;
    }
    base.entries.erase(base.entries.begin() + (before - base.entries.data()));
  } else if (before == nullptr) {
    base.entries.push_back(change);
  } else {
    merge(before->value, change.value, diagnostics);
  }
}

void merge(Value& base, const Value& change, Diagnostics& diagnostics) {
  if (!base.is_map() || !change.is_map() || starts_afresh(base, change)) {
    base = change;
    return;
  }
  for (const Value::Entry& entry : change.entries)
    merge_entry(base, entry, diagnostics);
}

std::size_t count_values(const Value& value) {
  std::size_t count = 1;
  for (const Value& item : value.items)
    count += count_values(item);
  for (const Value::Entry& entry : value.entries)
    count += count_values(entry.value);
  return count;
}

Value base_of(const Value& file) {
  Value base;
  base.kind = Value::Kind::map;
  base.at = file.at;
  for (const Value::Entry& entry : file.entries) {
    if (is_run_section(entry.key)) base.entries.push_back(entry);
  }
  return base;
}

bool has_thing(const Value& tree, const PathHead& head) {
  const Value::Entry* const section = tree.find(head.section);
  return section != nullptr && section->value.find(head.thing) != nullptr;
}

// `path` leads into a thing that none of the trees has.
void report_unknown_thing(const std::string& place, Position path_at, const PathHead& head,
                          const std::vector<const Value*>& trees, Diagnostics& diagnostics) {
  std::vector<std::string> known;
  for (const Value* const tree : trees) {
    const Value::Entry* const section = tree->find(head.section);
    if (section == nullptr) continue;
    for (const Value::Entry& entry : section->value.entries) {
      if (std::find(known.begin(), known.end(), entry.key) == known.end())
        known.push_back(entry.key);
    }
  }
  path_at.column += static_cast<int>(head.thing_offset);
  const std::string kind =
      head.section.substr(0, head.section.size() - 1);  // without the plural's s
  diagnostics.add(path_at, place + ": there is no " + kind + " " + quote(head.thing),
                  suggest(head.thing, known, head.section));
}

class Expansion {
 public:
  Expansion(const Value& file, Diagnostics& diagnostics)
      : base_(base_of(file)), diagnostics_(diagnostics) {}

  void add_base_alone() { variants_.push_back({"base", base_.at, base_}); }

  void add(const Value::Entry& variant) {
    if (!is_name(variant.key, true)) {
      diagnostics_.add(variant.key_at,
                       variant.value.path + ": " + quote(variant.key) + " cannot name a variant",
                       "use letters, digits, '_', '-' and '.', 40 at most");
      return;
    }
    if (!variant.value.is_map() && !variant.value.is_empty()) {
      diagnostics_.add(
          variant.value.at,
          variant.value.path + ": a variant is a map of changes, not " + describe(variant.value));
      return;
    }
    VariantTree merged{variant.key, variant.key_at, base_};
    for (const Value::Entry& change : variant.value.entries) {
      if (is_run_section(change.key)) {
        merge_entry(merged.tree, change, diagnostics_);
      } else if (change.key != "matrix" && !is_private_note(change.key)) {
        std::vector<std::string> known = run_sections();
        known.push_back("matrix");
        diagnostics_.add(change.key_at,
                         change.value.path + ": unknown key " + quote(change.key) + " in a variant",
                         suggest(change.key, known));
      }
    }
    const Value::Entry* const matrix = variant.value.find("matrix");
    if (matrix == nullptr) return keep(std::move(merged));
    multiply(merged, matrix->value);
  }

  std::vector<VariantTree> take() { return std::move(variants_); }

 private:
  void keep(VariantTree variant) {
    if (full_) return;
    values_ += count_values(variant.tree);
    if (variants_.size() == kMostVariants || values_ > kMostVariantValues) {
      full_ = true;
      diagnostics_.add(variant.at, "more than " + std::to_string(kMostVariants) + " variants, or " +
                                       std::to_string(kMostVariantValues) +
                                       " values in all of them");
      return;
    }
    if (!names_.insert(variant.name).second) {
      diagnostics_.add(variant.at, "two variants are named " + quote(variant.name) +
                                       " once their matrices are multiplied out");
      return;
    }
    variants_.push_back(std::move(variant));
  }

  bool check_axis(const Value::Entry& axis, const Value& tree) {
    const Value& values = axis.value;
    const bool good = values.is_list() && !values.items.empty();
    if (!good) {
      diagnostics_.add(values.at, values.path +
                                      ": a matrix maps each path to a list of values, not to " +
                                      (values.is_list() ? "an empty list" : describe(values)));
      return false;
    }
    const PathHead head = head_of(axis.key, tree);
    const std::string& section = head.section;
    if (!is_run_section(section)) {
      diagnostics_.add(
          axis.key_at, values.path + ": a path begins with a section, not with " + quote(section),
          suggest(section, run_sections(), "sections") + "; for example devices.guest.vec0.depth");
      return false;
    }
    if (head.inside_thing && !has_thing(tree, head)) {
      report_unknown_thing(values.path, axis.key_at, head, {&tree}, diagnostics_);
      return false;
    }
    return true;
  }

  void multiply(const VariantTree& variant, const Value& matrix) {
    if (!matrix.is_map() || matrix.entries.empty()) {
      diagnostics_.add(matrix.at, matrix.path +
                                      ": a matrix is a map from paths to lists of values, not " +
                                      (matrix.is_map() ? "an empty one" : describe(matrix)));
      return;
    }
    std::size_t product = 1;
    bool good = true;
    for (const Value::Entry& axis : matrix.entries) {
      good = check_axis(axis, variant.tree) && good;
      product *= std::max<std::size_t>(1, axis.value.items.size());
      if (product > kMostVariants) {
        diagnostics_.add(matrix.at, matrix.path + ": multiplies to more than " +
                                        std::to_string(kMostVariants) + " variants");
        return;
      }
    }
    if (good) add_product(variant, matrix, 0);
  }

  // Chooses a value for each axis from `axis` on; the last axis turns fastest.
  void add_product(const VariantTree& variant, const Value& matrix, std::size_t axis) {
    if (axis == matrix.entries.size()) return keep(variant);
    const Value::Entry& entry = matrix.entries[axis];
    for (std::size_t i = 0; i < entry.value.items.size(); ++i) {
      const Value& value = entry.value.items[i];
      VariantTree chosen = variant;
      const bool speaks = value.is_scalar() && is_name("x" + value.text, true);
      chosen.name += "-" + (speaks ? value.text : std::to_string(i));
      if (auto fault = assign(chosen.tree, {entry.key, entry.key_at, value})) {
        fault->text = entry.value.path + ": " + fault->text;
        diagnostics_.add(std::move(*fault));
        return;
      }
      add_product(chosen, matrix, axis + 1);
    }
  }

  Value base_;
  Diagnostics& diagnostics_;
  std::vector<VariantTree> variants_;
  std::set<std::string> names_;
  std::size_t values_ = 0;
  bool full_ = false;
};

void apply(const Assignment& assignment, std::vector<VariantTree>& variants,
           Diagnostics& diagnostics) {
  if (variants.empty()) return;
  PathHead head;
  std::vector<VariantTree*> meant;
  for (VariantTree& variant : variants) {
    head = head_of(assignment.path, variant.tree);
    if (head.thing.empty() || has_thing(variant.tree, head)) meant.push_back(&variant);
  }
  if (meant.empty() && head.inside_thing) {
    std::vector<const Value*> trees;
    for (const VariantTree& variant : variants)
      trees.push_back(&variant.tree);
    return report_unknown_thing(assignment.path, assignment.at, head, trees, diagnostics);
  }
  if (meant.empty()) {  // a new thing, for all
    for (VariantTree& variant : variants)
      meant.push_back(&variant);
  }
  for (VariantTree* const variant : meant) {
    if (auto fault = assign(variant->tree, assignment)) diagnostics.add(std::move(*fault));
  }
}

}  // namespace

const std::vector<std::string>& run_sections() {
  static const std::vector<std::string> sections = {"seed",    "costs", "stop",      "machines",
                                                    "devices", "links", "workloads", "captures"};
  return sections;
}

bool is_run_section(std::string_view key) {
  const auto& sections = run_sections();
  return std::find(sections.begin(), sections.end(), key) != sections.end();
}

std::vector<VariantTree> expand_variants(const Value& file,
                                         const std::vector<Assignment>& assignments,
                                         Diagnostics& diagnostics) {
  Expansion expansion(file, diagnostics);
  const Value::Entry* const variants = file.find("variants");
  if (variants == nullptr) {
    expansion.add_base_alone();
  } else if (!variants->value.is_map()) {
    diagnostics.add(variants->value.at,
                    "variants: a map of variants is expected, not " + describe(variants->value));
  } else {
    for (const Value::Entry& variant : variants->value.entries) {
      if (!is_private_note(variant.key)) expansion.add(variant);
    }
  }
  std::vector<VariantTree> expanded = expansion.take();
  if (expanded.empty() && diagnostics.empty()) {
    diagnostics.add(variants->key_at, "variants: there is none",
                    "remove the key to run the base alone");
  }
  for (const Assignment& assignment : assignments)
    apply(assignment, expanded, diagnostics);
  return expanded;
}

}  // namespace tapestry::app
