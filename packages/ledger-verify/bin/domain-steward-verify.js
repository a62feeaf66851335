#!/usr/bin/env node
// Committed, so that npm links it before the sources are built.
import '../dist/cli.js';
