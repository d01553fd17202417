// The program that the precompiled headers of the tests belong to; it does nothing else.

int main() { return 0; }
