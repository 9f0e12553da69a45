try --help
try -h
try help
try --version
try help help
