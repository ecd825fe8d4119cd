// Package sdktest holds the tests of the OpenAI endpoint with the clients that
// it serves: the official SDKs for Go and JavaScript, and the real pi behind it.
// They are a package of their own so that nothing else compiles those clients.
package sdktest
