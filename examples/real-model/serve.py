"""An OpenAI-compatible server on this machine: `serve.py FILE.gguf PORT [THREADS]`. It ends with SIGTERM or Ctrl-C."""

import signal
import sys

import xllamacpp

file, port, threads = sys.argv[1], int(sys.argv[2]), int((sys.argv[3:] or ["1"])[0])
options = xllamacpp.CommonParams()
options.model.path, options.model_alias = file, {"local"}
options.hostnames, options.port = ["127.0.0.1"], port
options.n_ctx, options.n_parallel = 8192, 1
options.cpuparams.n_threads = options.cpuparams_batch.n_threads = threads
server = xllamacpp.Server(options)
print("listening:", server.listening_address, flush=True)
signal.sigwait({signal.SIGTERM, signal.SIGINT})
