/* What every header with kernels needs: the kernel language, the object's widths, key codecs, arguments that trees share. */
#pragma once

#include "core/codec.h"
#include "core/widths.h"
#include "gpu/shared_kernels.h"
#include "simt/simt.h"
