// The programs that query segments and corpora, in one: most of what each compiles is the kernels, which are the same.
// Each compiles by itself, too. Arguments: which of them, and its own.
#define TOGETHER
#include "driver.cpp"
#include "far.cpp"
#include "models.cpp"
#ifndef __SANITIZE_THREAD__  // these use no threads
#include "ngrams.cpp"
#include "texts.cpp"
#endif

int main(int argc, char** argv) {
  const char* name = argc > 1 ? argv[1] : "";
  const auto is = [name](const char* other) { return std::strcmp(name, other) == 0; };
  if (is("driver")) return run_scenarios(questions::kScenarios, argc - 1, argv + 1);
  if (is("far")) return run_scenarios(far_checks::kScenarios, argc - 1, argv + 1);
  if (is("models")) return run_scenarios(model_checks::kScenarios, argc - 1, argv + 1);
#ifndef __SANITIZE_THREAD__
  if (is("ngrams")) return run_scenarios(ngram_lists::kScenarios, argc - 1, argv + 1);
  if (is("texts")) return run_scenarios(text_checks::kScenarios, argc - 1, argv + 1);
#endif
  std::printf("which? %s is none of them\n", name);
  return 2;
}
