#pragma once

namespace tidemark {

/// Makes the calling thread stand back: where it competes for a processor with threads of normal
/// priority it gets about a tenth of what one of them gets; else it is as fast as ever. For good: a
/// thread without privileges cannot raise itself again. Without effect where the system refuses.
void lower_priority_of_this_thread() noexcept;

} // namespace tidemark
