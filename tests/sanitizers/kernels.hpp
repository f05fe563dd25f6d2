// The kernels' own .cpp files but those that need Python, as a part of the program.
#pragma once

#include "../../ngramdb/_cext/src/base/crc32.cpp"
#include "../../ngramdb/_cext/src/base/interrupt.cpp"
#include "../../ngramdb/_cext/src/base/thread_team.cpp"
#include "../../ngramdb/_cext/src/corpus/conditions.cpp"
#include "../../ngramdb/_cext/src/corpus/corpus_index.cpp"
#include "../../ngramdb/_cext/src/segment/rows.cpp"
#include "../../ngramdb/_cext/src/segment/segment.cpp"
