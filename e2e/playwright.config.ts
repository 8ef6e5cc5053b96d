import { defineConfig } from 'playwright/test';
import { launchOptions } from './browser.ts';

export default defineConfig({
	testDir: '.',
	testMatch: '*.spec.ts',
	outputDir: '../test-results',
	// The tests wait for states, not for time, so two cores may share the work.
	workers: 2,
	fullyParallel: true,
	timeout: 90_000,
	expect: { timeout: 20_000 },
	forbidOnly: true,
	reporter: [['list'], ['json', { outputFile: '../test-results/e2e.json' }]],
	use: {
		browserName: 'chromium',
		launchOptions: launchOptions(),
		trace: 'retain-on-failure',
	},
});
