#ifndef WRITE_TIMES_H
#define WRITE_TIMES_H

/*
 * A library that is loaded before a program (LD_PRELOAD) and measures its write transactions, from BEGIN IMMEDIATE to the end of
 * COMMIT, in CPU time of their thread. The program itself has no part in that.
 *
 * WRITE_TIMES_FILE   a file of 16 bytes or more. At its beginning stand two 64-bit numbers: the longest transaction in
 *                    nanoseconds, and the number of transactions. Another process may set both to 0.
 */

#endif
