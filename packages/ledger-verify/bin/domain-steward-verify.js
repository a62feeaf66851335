#!/usr/bin/env node
// Stands in the repository, so that npm links it before the sources are built.
import '../dist/cli.js';
