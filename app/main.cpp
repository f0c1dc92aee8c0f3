#include "app/cli/cli.hpp"

int main(int argc, char** argv) { return tapestry::app::run_command_line(argc, argv); }
