import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { svelte } from '@sveltejs/vite-plugin-svelte';
import { playwright } from '@vitest/browser-playwright';
import type { Plugin } from 'vite';
import { defineConfig } from 'vitest/config';
import { launchOptions } from './e2e/browser.ts';

/** Beside each file of the page, the same compressed: the proxy only has to pick one. */
const compressed: Plugin = {
	name: 'compressed',
	apply: 'build',
	writeBundle({ dir }) {
		for (const entry of readdirSync(dir!, { recursive: true, withFileTypes: true })) {
			if (!/\.(js|css|html|svg)$/.test(entry.name)) continue;
			const file = join(entry.parentPath, entry.name);
			const content = readFileSync(file);
			writeFileSync(`${file}.br`, brotliCompressSync(content));
			writeFileSync(`${file}.gz`, gzipSync(content, { level: 9 }));
		}
	},
};

export default defineConfig({
	root: 'web',
	plugins: [svelte({ configFile: false }), compressed],
	build: {
		outDir: '../dist',
		emptyOutDir: true,
		target: 'es2023',
		// Older targets make Vite rewrite light-dark() into something that ignores the page's scheme.
		cssTarget: ['chrome123', 'firefox120', 'safari17.5'],
		modulePreload: { polyfill: false },
	},
	test: {
		root: '.',
		projects: [
			{
				extends: true,
				test: {
					name: 'unit',
					environment: 'node',
					include: ['server/**/*.test.ts', 'web/**/*.test.ts'],
					exclude: ['**/*.svelte.test.ts'],
					testTimeout: 60_000,
					// Most of these wait for a Pi of their own.
					maxWorkers: 2,
				},
			},
			{
				extends: true,
				// One that is found only when a test asks for it makes Vite reload the page under the test.
				optimizeDeps: {
					include: [
						'@speed-highlight/core',
						'anser',
						'fast-check',
						'idb-keyval',
						'marked',
						'svelte',
						'vitest-browser-svelte',
					],
				},
				test: {
					name: 'browser',
					include: ['web/**/*.svelte.test.ts'],
					browser: {
						enabled: true,
						headless: true,
						screenshotFailures: false,
						provider: playwright({ launchOptions: launchOptions() }),
						instances: [{ browser: 'chromium' }],
					},
				},
			},
		],
	},
});
